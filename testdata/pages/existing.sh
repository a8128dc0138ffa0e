# A repository as many are: three root modules, locked on one machine; one has drifted, and one was never locked.
for name in api database web; do
  mkdir -p live/$name
  cat >live/$name/main.tf <<END
terraform {
  backend "s3" {}
  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = "~> 5.60"
    }
  }
}
END
done
(cd live/api && provlock lock --quiet -p linux_amd64 hashicorp/aws)
(cd live/web && provlock lock --quiet -p linux_amd64)
sed -i 's/~> 5.60"/~> 5.80"/' live/web/main.tf
git add .
git commit --quiet --message=base
