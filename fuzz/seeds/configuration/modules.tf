module "network" {
  source  = "acme/network/aws"
  version = "1.2.3"
}

module "local" {
  source = "./missing"
  name   = join("-", ["a", 1])
}

variable "a" {
  type    = string
  default = "x"
}

/* a block
   comment */
provider "random" {
  version = "= 2.0"
}
