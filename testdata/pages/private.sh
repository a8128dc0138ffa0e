# A configuration that requires a provider of a private registry.
cat >main.tf <<END
terraform {
  required_providers {
    gamma = {
      source  = "registry.example.com/acme/gamma"
      version = "~> 1.5"
    }
  }
}
END
