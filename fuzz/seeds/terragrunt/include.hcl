include "root" {
  path = find_in_parent_folders("root.hcl")
  expose = true
}

locals {
  name = include.root.locals.name
}

terraform {
  source = "../${local.name}"
}
