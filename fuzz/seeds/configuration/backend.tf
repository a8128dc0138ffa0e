terraform {
  backend "s3" {}
  required_providers {
    aws = {
      "source" : "hashicorp/aws",
      configuration_aliases = [aws.a, aws.b]
      version = "\u007e> 5.1"
    }
  }
}
locals { x = { for k, v in { a = 1 } : k => v if v > 0 } }
