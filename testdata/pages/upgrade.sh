# A root module whose providers are behind, with two others below it.
requires() {
  printf 'terraform {\n  required_providers {\n'
  while [ $# -gt 0 ]; do
    printf '    %s = {\n      source  = "hashicorp/%s"\n      version = "%s"\n    }\n' "$1" "$1" "$2"
    shift 2
  done
  printf '  }\n}\n'
}
requires aws "~> 5.0" null "~> 3.2" >versions.tf
mkdir -p modules/id live/api live/web
requires random "~> 3.6.0" >modules/id/main.tf
printf 'module "id" {\n  source = "./modules/id"\n}\n' >main.tf
provlock upgrade --quiet hashicorp/aws@5.60.0
provlock lock --quiet
for name in api web; do
  requires aws "~> 5.0" >live/$name/versions.tf
  printf 'terraform {\n  backend "s3" {}\n}\n' >live/$name/main.tf
done
provlock -C live/api upgrade --quiet hashicorp/aws@5.60.0
provlock -C live/web lock --quiet
