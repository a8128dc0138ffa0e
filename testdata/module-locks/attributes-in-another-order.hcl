# This file is maintained by provlock. It records the packages of the modules that this configuration calls.
# OpenTofu and Terraform do not read it: "provlock get" installs what it records, "provlock verify" checks it.

module "b" {
	hashes = ["h1:8KwBmTZ0PHhVKGXPKvXzJrd2JYsbYZxyhzCs1gmCvuE="]
	package="https://example.com/b.zip"
	source="https://example.com/b.zip"
}
module "a" {
  package = "https://example.com/a.zip"

  source = "https://example.com/a.zip"
}
