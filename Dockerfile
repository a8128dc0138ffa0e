# Two images: `scratch` (the last stage) holds the program and CA certificates and nothing else; `git` has a shell and git too,
# which `verify --base`, modules from git and CI systems such as GitLab need.
#
#   docker build -t provlock .                     # or buildah build -t provlock .
#   docker build -t provlock:git --target git .
#
# A release does not compile here: `--build-context build=DIRECTORY` gives the directory with its programs instead,
# linux/amd64/provlock and linux/arm64/provlock.

FROM docker.io/library/rust:1.95-alpine AS build
RUN apk add --no-cache build-base git
WORKDIR /source
COPY . .
ARG TARGETARCH
RUN cargo build --locked --features jemalloc --profile dist && \
    mkdir -p "/linux/$TARGETARCH" && cp target/dist/provlock "/linux/$TARGETARCH"

# The home directory holds the cache.
FROM docker.io/library/alpine:3.22 AS system
RUN adduser -D -u 65532 provlock

FROM system AS git
RUN apk add --no-cache git
ARG TARGETARCH
COPY --from=build /linux/$TARGETARCH/provlock /usr/local/bin/provlock
USER 65532:65532
WORKDIR /work
ENTRYPOINT ["/usr/local/bin/provlock"]

FROM scratch AS scratch-image
ARG TARGETARCH
COPY --from=system /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=system --chown=65532:65532 /home /home
COPY --from=build /linux/$TARGETARCH/provlock /usr/local/bin/provlock
ENV HOME=/home/provlock
# A number, so that Kubernetes knows without a file of users that it is not root.
USER 65532:65532
WORKDIR /work
ENTRYPOINT ["/usr/local/bin/provlock"]
