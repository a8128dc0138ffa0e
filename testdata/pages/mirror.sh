# Two root modules that are locked for two platforms, and a mirror with an older version.
for name in api web; do
  mkdir -p live/$name
  cat >live/$name/main.tf <<END
terraform {
  required_providers {
    null = {
      source  = "hashicorp/null"
      version = "~> 3.2"
    }
  }
}
END
done
git add .
git commit --quiet --message=configuration
(cd live/api && provlock lock --quiet --dialect tofu -p linux_amd64,darwin_arm64)
(cd live/web && provlock lock --quiet --dialect tofu -p linux_amd64,darwin_arm64)
git add .
git commit --quiet --message=locked
