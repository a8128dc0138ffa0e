# This file is maintained by provlock. It records the packages of the modules that this configuration calls.
# OpenTofu and Terraform do not read it: "provlock get" installs what it records, "provlock verify" checks it.

module "any" {
  source  = "registry.terraform.io/acme/any/aws"
  version = "1.0.0-beta1"
  package = "registry::registry.terraform.io/acme/any/aws@1.0.0-beta1"
  hashes = [
    "h1:8KwBmTZ0PHhVKGXPKvXzJrd2JYsbYZxyhzCs1gmCvuE=",
  ]
}
