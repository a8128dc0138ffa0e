module "a..b" {
  source  = "https://example.com/a.zip"
  package = "https://example.com/a.zip"
}
module "../a" {
  source  = ""
  package = " https://example.com/a.zip"
}
module "c" {
  version     = "v1.0"
  constraints = "~>v1"
  floating    = true
}
module "a" "b" {}
resource "x" {}
