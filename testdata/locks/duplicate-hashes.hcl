# This file is maintained automatically by "tofu init".
# Manual edits may be lost in future updates.

provider "registry.opentofu.org/example/twice" {
  version = "1.0.0"
  hashes = [
    "h1:GekJkes/EGf5J92n0Grji5VuUhOK5ZTqXyEcdxFDk8M=",
    "h1:GekJkes/EGf5J92n0Grji5VuUhOK5ZTqXyEcdxFDk8M=",
    "zh:f0d93d3f4a1280ed7b2fcc3c25b1b652400345ad8b82f6491e091d14e37ff0b0",
    "zh:6381327704b8f01b3103a77513f641507496b39d01aa02a4e3e24260ab46ef2e",
    "zh:f0d93d3f4a1280ed7b2fcc3c25b1b652400345ad8b82f6491e091d14e37ff0b0",
  ]
}
