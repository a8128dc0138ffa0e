# This file is maintained by provlock. It records the packages of the modules that this configuration calls.
# OpenTofu and Terraform do not read it: "provlock get" installs what it records, "provlock verify" checks it.

module "." {
  source  = "https://example.com/site.zip//infra"
  package = "https://example.com/site.zip"
  hashes = [
    "h1:8KwBmTZ0PHhVKGXPKvXzJrd2JYsbYZxyhzCs1gmCvuE=",
    "zh:1f657f1ebc3287aa14ba3e413367a5dbd0ebcbf0ba091f310f9593fd424fdb63",
  ]
}
