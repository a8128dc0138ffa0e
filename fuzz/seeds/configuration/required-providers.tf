terraform {
  required_version = ">= 1.8"
  required_providers {
    gamma = {
      source  = "acme/gamma" # the first
      version = "~> 5.0"
    }
    null = { source = "hashicorp/null", version = ">= 3.0.0, < 4.0.0, != 3.1.0" }
  }
}

provider "gamma" {
  alias = "second"
}
