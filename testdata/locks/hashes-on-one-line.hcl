# This file is maintained automatically by "tofu init".
# Manual edits may be lost in future updates.

provider "registry.opentofu.org/example/flow" {
  version     = "1.0.0"
  constraints = "~> 1.0"
  hashes = ["h1:ApMAtMrtQg0QGjPgZvoVPzXIBqlcUY0oaKUjOCQxjF8=", "zh:4121a7f0c36481cd0b3aa493c6c63c30052d2aeb504f8d6380cd4cf993f4f833", "zh:ac3ffc43c0ca47315e48f2978635e365a031e4a1bb25e51fa38b61c02f37164b"]
}

provider "registry.opentofu.org/example/spaced" {
  version = "1.0.0"
  hashes = [ "h1:ApMAtMrtQg0QGjPgZvoVPzXIBqlcUY0oaKUjOCQxjF8=", "zh:4121a7f0c36481cd0b3aa493c6c63c30052d2aeb504f8d6380cd4cf993f4f833", ]
}
