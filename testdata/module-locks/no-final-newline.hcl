# This file is maintained by provlock. It records the packages of the modules that this configuration calls.
# OpenTofu and Terraform do not read it: "provlock get" installs what it records, "provlock verify" checks it.

module "network.endpoints" {
  source  = "git::https://example.com/net.git//endpoints?ref=v1.2.0"
  package = "git::https://example.com/net.git?ref=5632352e8042c13b2da684ad5895525f2aeb0f98"
  hashes = [
    "h1:SOnH4vG5XTeQ/8praCZhZmN/9aOG4z9/R+letMm+hVY=",
  ]
}