# A root module that calls modules which require providers, too.
mkdir -p modules/network modules/flow-log
cat >versions.tf <<END
terraform {
  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = "~> 5.70"
    }
  }
}
END
cat >main.tf <<END
module "network" {
  source = "./modules/network"
}
END
sed 's/~> 5.70/>= 5.0.0/' versions.tf >modules/network/versions.tf
cat >modules/network/main.tf <<END
module "flow" {
  source = "../flow-log"
}
END
echo 'resource "aws_flow_log" "all" {}' >modules/flow-log/main.tf
provlock lock --quiet
