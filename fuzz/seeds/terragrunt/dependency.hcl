dependency "vpc" {
  config_path = "../other"
  mock_outputs = { id = "x" }
}

terraform {
  source = "../module"
}

inputs = merge(jsondecode("{}"), { for k, v in { a = 1 } : k => upper(v) })
