# This file is maintained automatically by "tofu init".
# Manual edits may be lost in future updates.
provider "registry.opentofu.org/hashicorp/dns" {
  version     = "3.4.2"
  constraints = ">= 3.0.0"
  hashes = [
    "h1:ljcaxWsVrzFxWhU1ocnXV7RLqHlIxH7z6J54WzWDnOQ=",
    "zh:b9b8abc0532effdbb9b8db023e5b22ff51478732f4066cf28376593ced762a42",
    "zh:c1e769db972680fb23a825f98e363ea203c2fa3105bfe65ef975a57647f22ae4",
    "zh:e4cdeb60a4aef7288093f76df0fd14494e311c32f888e2fd457759b7cc24979d",
    "zh:e8a38ecaca23ce4be4a808f6ef889173bf96c1f52779a8964ae5d2a06de9eafc",
  ]
}
