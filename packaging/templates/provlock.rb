class Provlock < Formula
  desc "Dependency lock files of OpenTofu and Terraform"
  homepage "{{repository}}"
  version "{{version}}"
  license "MPL-2.0"

  on_macos do
    on_arm do
      url "{{url aarch64-apple-darwin}}"
      sha256 "{{sha256 aarch64-apple-darwin}}"
    end
    on_intel do
      url "{{url x86_64-apple-darwin}}"
      sha256 "{{sha256 x86_64-apple-darwin}}"
    end
  end

  on_linux do
    on_arm do
      url "{{url aarch64-unknown-linux-musl}}"
      sha256 "{{sha256 aarch64-unknown-linux-musl}}"
    end
    on_intel do
      url "{{url x86_64-unknown-linux-musl}}"
      sha256 "{{sha256 x86_64-unknown-linux-musl}}"
    end
  end

  head do
    url "{{repository}}.git", branch: "main"
    depends_on "rust" => :build
  end

  def install
    if build.head?
      system "cargo", "install", *std_cargo_args
      man1.install Dir["docs/man/*.1"]
    else
      bin.install "provlock"
      man1.install Dir["man/*.1"]
    end
    bash_completion.install "completions/provlock.bash" => "provlock"
    zsh_completion.install "completions/_provlock"
    fish_completion.install "completions/provlock.fish"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/provlock --version") unless head?
  end
end
