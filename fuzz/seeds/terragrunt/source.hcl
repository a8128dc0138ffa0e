terraform {
  source = "../module"
}

inputs = {
  a = 1
}
