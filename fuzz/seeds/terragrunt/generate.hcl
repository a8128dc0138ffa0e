generate "provider" {
  path      = "provider.tf"
  if_exists = "overwrite"
  contents  = <<EOT
provider "b" {
  alias = "c"
}
EOT
}

terraform {
  source = "${get_terragrunt_dir()}/../module//."
}
