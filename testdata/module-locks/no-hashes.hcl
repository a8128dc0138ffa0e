# This file is maintained by provlock. It records the packages of the modules that this configuration calls.
# OpenTofu and Terraform do not read it: "provlock get" installs what it records, "provlock verify" checks it.

module "a" {
  source  = "https://example.com/a.zip"
  package = "https://example.com/a.zip"
}
