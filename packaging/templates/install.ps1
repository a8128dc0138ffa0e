# Installs provlock {{version}} on Windows, after its checksum and, where `gh` is there, its attestation was verified.
#
#   powershell -ExecutionPolicy Bypass -c "irm {{repository}}/releases/latest/download/install.ps1 | iex"
#
# PROVLOCK_INSTALL_DIR names the directory [default: %LOCALAPPDATA%\Programs\provlock].
$ErrorActionPreference = 'Stop'

# Everything is in a function, so that a download of this file that breaks off runs nothing.
function Install-Provlock {
    # The progress bar of Windows PowerShell 5.1 takes longer than the download.
    $ProgressPreference = 'SilentlyContinue'
    $repository = if ($env:PROVLOCK_REPOSITORY) { $env:PROVLOCK_REPOSITORY } else { '{{repository}}' }
    $machine = if ($env:PROCESSOR_ARCHITEW6432) { $env:PROCESSOR_ARCHITEW6432 } else { $env:PROCESSOR_ARCHITECTURE }
    $target, $expected = switch ($machine) {
        'AMD64' { 'x86_64-pc-windows-msvc', '{{sha256 x86_64-pc-windows-msvc}}' }
        'ARM64' { 'aarch64-pc-windows-msvc', '{{sha256 aarch64-pc-windows-msvc}}' }
        default { throw "install.ps1: there are no releases for Windows on $machine; see $repository" }
    }
    $directory = if ($env:PROVLOCK_INSTALL_DIR) { $env:PROVLOCK_INSTALL_DIR } else { Join-Path $env:LOCALAPPDATA 'Programs\provlock' }
    $temporary = Join-Path ([IO.Path]::GetTempPath()) ([IO.Path]::GetRandomFileName())
    New-Item -ItemType Directory -Path $temporary | Out-Null
    try {
        $archive = Join-Path $temporary "provlock-$target.zip"
        [Net.ServicePointManager]::SecurityProtocol = [Net.SecurityProtocolType]::Tls12
        Invoke-WebRequest -UseBasicParsing -Uri "$repository/releases/download/v{{version}}/provlock-$target.zip" -OutFile $archive
        if ((Get-FileHash -Algorithm SHA256 -Path $archive).Hash -ne $expected) {
            throw "install.ps1: the checksum of provlock-$target.zip is wrong; nothing was installed"
        }
        if (Get-Command gh -ErrorAction SilentlyContinue) {
            # Windows PowerShell 5.1 makes an error of what a program writes to a stderr that is redirected.
            & { $ErrorActionPreference = 'Continue'; gh auth status *> $null }
            if ($LASTEXITCODE -eq 0) {
                gh attestation verify $archive --repo '{{owner}}/{{name}}' | Out-Null
                if ($LASTEXITCODE -ne 0) {
                    throw "install.ps1: the attestation of provlock-$target.zip cannot be verified; nothing was installed"
                }
            }
        }
        Expand-Archive -Path $archive -DestinationPath $temporary
        New-Item -ItemType Directory -Force -Path $directory | Out-Null
        Copy-Item -Force -Path (Join-Path $temporary "provlock-$target\provlock.exe") -Destination $directory
    } finally {
        Remove-Item -Recurse -Force -Path $temporary
    }
    & (Join-Path $directory 'provlock.exe') --version
    if (($env:PATH -split ';') -notcontains $directory) { Write-Output "$directory is not in PATH" }
}
Install-Provlock
