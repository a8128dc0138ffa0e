terraform {
  required_providers {
    null = {
      source  = "hashicorp/null"
      version = "~> 3.2"
    }
    random = {
      source  = "hashicorp/random"
      version = ">= 3.6.0, < 3.7.0"
    }
  }
}

resource "random_pet" "name" {}

resource "null_resource" "greeting" {
  triggers = {
    name = random_pet.name.id
  }
}
