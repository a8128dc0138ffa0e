module "a" {
  source = "https://example.com/\u0061.zip?x=$${y}"
  package = "https://example.com/a.zip"
}
