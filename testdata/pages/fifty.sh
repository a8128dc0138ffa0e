# 50 root modules as they grow over years: 30 for OpenTofu, 14 for Terraform, 5 units of Terragrunt, one broken directory.
# Two of three are locked, for one platform each.
configuration() {
  cat <<END
terraform {
  backend "s3" {}
  required_providers {
    null = {
      source  = "hashicorp/null"
      version = "~> 3.2"
    }
    random = {
      source  = "hashicorp/random"
      version = "$1"
    }
  }
}
END
}
for number in $(seq -w 1 30); do
  mkdir -p platform/team-$number
  configuration "~> 3.6" >platform/team-$number/main.tf
  case $number in *[147]) ;; *) (cd platform/team-$number && provlock lock --quiet --dialect tofu -p linux_amd64) ;; esac
done
for number in $(seq -w 1 14); do
  mkdir -p legacy/app-$number
  configuration ">= 3.6.0, < 3.7.0" >legacy/app-$number/main.tf
  case $number in *[147]) ;; *) (cd legacy/app-$number && provlock lock --quiet --dialect terraform -p darwin_arm64) ;; esac
done
mkdir -p units/modules/service
configuration "~> 3.6" >units/modules/service/main.tf
echo 'remote_state {
  backend = "s3"
  config  = { bucket = "acme-state" }
}' >units/root.hcl
for name in api auth mail search web; do
  mkdir units/$name
  printf 'include "root" {\n  path = find_in_parent_folders("root.hcl")\n}\nterraform {\n  source = "../modules/service"\n}\n' >units/$name/terragrunt.hcl
done
mkdir -p platform/experiment
printf 'terraform {\n  backend "s3" {}\n  required_providers {\n' >platform/experiment/main.tf
printf '.terraform/\n' >.gitignore
git add .
git commit --quiet --message=years
git init --quiet --bare ../origin.git
git remote add origin ../origin.git
git push --quiet origin HEAD:main
