# mine

# This file is maintained automatically by "tofu init".
# Manual edits may be lost in future updates.

# about gamma
provider "registry.opentofu.org/example/gamma" {
  version     = "1.5.0"
  constraints = ">= 1.0.0"
  hashes = [
    "h1:qOWUkBiQmvmEbb/Dj28kwcyXH8xChj8hJwL9EWrWI6I=",
    "zh:513058d718f1e6642e906ac48d50f5308a48dfd108d1830d60430ca2f5f014e6",
    "zh:6abd72b7ce02add8e01172bdf896cbc71a61f398b7713cc18815287048571f1d",
    "zh:8f80a6f9d238eae0b6d5f4c40cd1366f8b33b5d670c0d17f3de31a0650bc1195",
    "zh:e7bb8da0d317b7a1c36ecd77de74b7acc15a96ba69715394b3db5e3b389bf1cb",
  ]
}

# the end
