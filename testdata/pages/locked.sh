# A root module whose provider is locked for two platforms, on the branch main; then a branch for a change.
mkdir live
cat >live/main.tf <<END
terraform {
  backend "s3" {
    bucket = "acme-state"
  }
  required_providers {
    null = {
      source  = "hashicorp/null"
      version = "~> 3.2"
    }
  }
}
END
echo 'platforms = ["linux_amd64", "darwin_arm64"]' >provlock.toml
provlock -C live upgrade --quiet hashicorp/null@3.2.3
git add .
git commit --quiet --message=base
git switch --quiet --create change
