# This file is maintained automatically by "terraform init".
# Manual edits may be lost in future updates.

provider "registry.terraform.io/hashicorp/google" {
  version     = "6.1.0"
  constraints = ">= 5.0.0, < 7.0.0"
  hashes = [
    "h1:orVpmDQLO1jGhaBS7y0hPmnqtquaPBmevEv8v548OiU=",
    "zh:1f7ac561ca5160f0eac591eb2a007bad25b4896fddb1bbf9e7e739b130ba2af7",
    "zh:254110922a316f49f0ff9d496aebcabf3e0235775b2cc79615a91c2ed07f9a5e",
    "zh:719c3b096f99373f862239125ed58fbf5bdd58eb690a11efadc03fed2c39c7eb",
    "zh:eff3990bfd533905c2921cc2209d452823421748c71add0472d4dfd87393ed50",
  ]
}

provider "registry.terraform.io/integrations/github" {
  version = "6.4.0"
  hashes = [
    "h1:XKG8fmXJiM9bRcBJm5KJiaD88KtweN6faFUQ5qxzzZg=",
    "zh:088b376712461c11f0b5bdc801ee038fad045b371d7c7a43d49a6a65978852aa",
    "zh:438457e528a4041aa41d52707c2706c050cbf28abc97289f8d3d37262c1bf8f8",
    "zh:92bd0afbae0c839902319a7f2a4d5c2213ea42b82a02f700efd59a73e2e1f12d",
    "zh:ededea1a7302a2a2f83e73765ae9587ee93bf0efaee69c9c46a0d88ef34cc232",
  ]
}
