# This file is maintained automatically by "tofu init".
# Manual edits may be lost in future updates.

provider "registry.opentofu.org/example/one" {
  version     = "1.0.0"
  constraints = ">= 1.0.0"
  ha    "h1:0kghYO0+YWmA4OgeHR98i11HmgHLIdQ1vGB9aoq3KFQ=",
    "zh:1c3864bd878f659b176a55e74943a75fd9bd6f705563dd9b4f52fe3e3c7933e1",
    "zh:665a6b66e279706eed9b0339f1168321e8fdab19625060f68f548671355c59d6",
    "zh:6d4b884b134688161c8b5a26c51aeae9e0ad681cf2ff1f064053108fe8945031",
    "zh:ffcd10a6998202fc321c12c538b65ad5ebe4aef27e2141dbecf9cb15587b92c9",
  ]
}
