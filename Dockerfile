# The image of Holdfast: its two programs, the libraries that they need, and nothing else.
#
#   scripts/image [--tag T]       builds it with the docker that is installed
#
# docs/operations.md says how it is run. The stages need Debian's package archive and nothing else.
ARG BASE=debian:bookworm-slim

FROM $BASE AS build
WORKDIR /holdfast
COPY scripts/deps scripts/
RUN scripts/deps package
# A list of what is taken, so that no key or build of the checkout gets into a layer by accident.
COPY CMakeLists.txt CMakePresets.json ./
COPY cmake cmake
COPY protos protos
COPY platform platform
COPY session session
COPY store-fs store-fs
COPY store-postgres store-postgres
COPY server server
COPY cli cli
COPY scripts/build scripts/
ARG JOBS=
RUN HOLDFAST_JOBS=$JOBS scripts/build --preset release holdfastd holdfast
# What a commit alone changes compiles one file again, and no more of the layers.
ARG REVISION=
RUN cmake -D "HOLDFAST_REVISION=$REVISION" build-release >/dev/null \
  && HOLDFAST_JOBS=$JOBS scripts/build --preset release holdfastd holdfast
COPY scripts/image-root scripts/
# The time of every file in the image: the same sources make the same files.
ARG SOURCE_DATE_EPOCH=0
RUN SOURCE_DATE_EPOCH=$SOURCE_DATE_EPOCH scripts/image-root build-release/bin /image

FROM scratch
COPY --from=build /image/ /
# Sessions are kept in /var/lib/holdfast, where a volume belongs. The image names no configuration:
# without one the server listens on the container's own loopback.
ENV PATH=/usr/bin XDG_STATE_HOME=/var/lib
USER 65532:65532
EXPOSE 7420
STOPSIGNAL SIGTERM
# Asks the address of HOLDFAST_CONFIG's file, else 127.0.0.1:7420, which a server on 0.0.0.0:7420
# answers too.
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --retries=3 \
  CMD ["holdfastd", "healthcheck"]
ENTRYPOINT ["holdfastd"]
ARG VERSION=
ARG REVISION=
ARG CREATED=
LABEL org.opencontainers.image.title="holdfast" \
  org.opencontainers.image.description="A durable session backend for agents" \
  org.opencontainers.image.version="$VERSION" \
  org.opencontainers.image.revision="$REVISION" \
  org.opencontainers.image.created="$CREATED"
