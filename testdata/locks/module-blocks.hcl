# This file is maintained automatically by "tofu init".
# Manual edits may be lost in future updates.

module "before" {
  hashes = { a = ["# no comment"] }
}

provider "registry.opentofu.org/example/between" {
  version = "1.0.0"
  hashes = [
    "h1:jVH85NFlI3IXXWUrcYIALh4hUNjIwFLO4deYEQDnL4k=",
    "zh:0ca15df3a3c340da0ec72a7051174b3512bad3399caf5882a57e1cc1f24e01ee",
    "zh:0d6caa032168b49e0b98ed9754e30021fa8e5ed49b9b895db3ddbd48d2ecf8cd",
    "zh:3d8c39ba3cd6064b9f014f3f855e65ca38626ee99eb9d8b7c37a977afc123e0b",
    "zh:acc415a5cf9b9c207b6fca473fdcca30f88fcdb1ad0da177673ab4fb4b33079b",
  ]
}

module "x" {
  y = 1
}
