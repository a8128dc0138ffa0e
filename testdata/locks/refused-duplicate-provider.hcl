# This file is maintained automatically by "tofu init".
# Manual edits may be lost in future updates.

provider "registry.opentofu.org/example/one" {
  version = "1.0.0"
  hashes = [
    "h1:0kghYO0+YWmA4OgeHR98i11HmgHLIdQ1vGB9aoq3KFQ=",
    "zh:1c3864bd878f659b176a55e74943a75fd9bd6f705563dd9b4f52fe3e3c7933e1",
    "zh:665a6b66e279706eed9b0339f1168321e8fdab19625060f68f548671355c59d6",
    "zh:6d4b884b134688161c8b5a26c51aeae9e0ad681cf2ff1f064053108fe8945031",
    "zh:ffcd10a6998202fc321c12c538b65ad5ebe4aef27e2141dbecf9cb15587b92c9",
  ]
}

provider "registry.opentofu.org/example/two" {
  version = "1.0.0"
  hashes = [
    "h1:YxMRv5aXdZCgXy9t7QkMqgB9e5qxsO0HPYZwIZrN7N4=",
    "zh:1074900ed78f7a728710bbe313c7c220970dafd276bc439b3e11e4fa4c6ea69a",
    "zh:1875501e15e9b006709e07a54dd97704a1479a2d3d65c0cf571f4c701b340fe6",
    "zh:84b9f9a4a2eab66fe2a6f8590fd3e23df4e1cedb94413f7ec4b26cb0cbccaade",
    "zh:b82be3f0539c9562947b12cf21a6ba37a3e6ca653b7f709ec963bb51796ba64d",
  ]
}

provider "registry.opentofu.org/example/one" {
  version = "1.1.0"
  hashes = [
    "h1:dFhVZRrOMiG02HgkQrP/ieICbWy1G5murwbVD79Q/n4=",
    "zh:3dc9f2633913a3a5e21b995e54f04a5e855e1e90a063a876de3a9d56205845d5",
    "zh:8ac4e467eb98da08869cec1cb517fa0846100e37f88718724a67b342c2f66311",
    "zh:c9b0ad88bb542930854854ce8cfebd80e2619730f6968212c67e425c8be5a133",
    "zh:d9949960ea4d076bd06286010c67cc2eda937c4f5120514de2b80ae7cbaa1643",
  ]
}
