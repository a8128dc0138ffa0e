# ours

# This file is maintained by provlock. It records the packages of the modules that this configuration calls.
# OpenTofu and Terraform do not read it: "provlock get" installs what it records, "provlock verify" checks it.

# about network
module "network" { # its path
  # from the registry
  source /* where */ = "registry.opentofu.org/acme/network/aws" # ours
  version     = "1.2.0"   # checked
  // what the call says
  constraints = "~> 1" // not 2
  package     = "registry::registry.opentofu.org/acme/network/aws@1.2.0"
  # of the files
  hashes = [ # first
    "h1:8KwBmTZ0PHhVKGXPKvXzJrd2JYsbYZxyhzCs1gmCvuE=", # only
    # end
  ] # after
  # last
} # end
# loose
