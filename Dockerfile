# FaceValue in a container, for the processor (the default target) or with PyTorch for NVIDIA's GPUs (`--target cuda`):
#
#     docker build --tag facevalue .
#     docker build --tag facevalue:cuda --target cuda .
#
# Both stand on one image: PyTorch's packages bring CUDA's libraries, and the host its driver. docs/how-to/install.md shows how they are run.

FROM python:3.13.13-slim-bookworm@sha256:355bfa66770995d7e9a0da4b3473b44d0cb451f6b56f5615ad9c39e3c4eca03f AS base
ENV PATH=/opt/facevalue/bin:$PATH

FROM base AS packages
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore
WORKDIR /source
RUN python -m venv /opt/facevalue
COPY requirements/demo.txt requirements/
RUN pip install --require-hashes -r requirements/demo.txt
COPY pyproject.toml README.md LICENSE NOTICE ./
COPY src src
RUN pip install --no-deps --no-build-isolation .

# Which build of PyTorch fits depends on the machine: its version is pinned, its digest is in no lock.
FROM packages AS packages-cuda
COPY requirements/torch.in requirements/engine.txt requirements/
RUN pip install -r requirements/torch.in && pip install --require-hashes -r requirements/engine.txt

FROM base AS run
RUN useradd --uid 10001 --create-home facevalue && mkdir /runs && chown facevalue /runs
USER 10001
WORKDIR /runs
HEALTHCHECK --interval=5m --timeout=30s CMD ["facevalue", "doctor"]
ENTRYPOINT ["facevalue"]
CMD ["doctor"]

FROM run AS cuda
ENV NVIDIA_VISIBLE_DEVICES=all NVIDIA_DRIVER_CAPABILITIES=compute,utility
COPY --from=packages-cuda /opt/facevalue /opt/facevalue

FROM run AS cpu
COPY --from=packages /opt/facevalue /opt/facevalue
