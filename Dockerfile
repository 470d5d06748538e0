# vitals in a small image: no compiler, no pip, no root, no secret in any layer.
#
#     docker build -t vitals .
#
# The tag below moves with security fixes. To build the same image twice, pin the digest that `docker pull` prints:
#     docker build --build-arg PYTHON=python:3.13-slim-bookworm@sha256:... -t vitals .
ARG PYTHON=python:3.13-slim-bookworm

FROM ${PYTHON} AS build
WORKDIR /src
RUN python -m venv /venv
# The dependencies come first, so that a change of our own code does not fetch them again. Every one is checked against its hash.
COPY constraints.txt ./
RUN /venv/bin/pip install --no-cache-dir --disable-pip-version-check --require-hashes --only-binary=:all: -r constraints.txt
COPY pyproject.toml README.md LICENSE ./
COPY app app
# setuptools builds our package and has no work to do afterwards, nor has pip.
RUN /venv/bin/pip install --no-cache-dir --disable-pip-version-check --no-deps --no-build-isolation . \
 && /venv/bin/pip uninstall --yes setuptools pip

FROM ${PYTHON}
# A numeric user, so that a host can prove it is not root. The folder is its own: a named volume takes that ownership over.
RUN groupadd --gid 10001 vitals \
 && useradd --uid 10001 --gid 10001 --home-dir /nonexistent --no-create-home --shell /usr/sbin/nologin vitals \
 && install -d -o 10001 -g 10001 -m 0700 /data
COPY --from=build /venv /venv
# Everything the container writes goes to /data: the root file system may be read-only.
ENV PATH=/venv/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    HOST=0.0.0.0 \
    PORT=8080 \
    DATA_DIR=/data \
    LOG_FORMAT=json
USER 10001:10001
WORKDIR /data
VOLUME /data
EXPOSE 8080
# `vitals serve` finishes requests and a renewal of the Oura sign-in before it exits, in under the 10 s that docker gives.
STOPSIGNAL SIGTERM
# Python itself asks, so the image needs no curl. An unhealthy answer raises, and that exits with 1.
HEALTHCHECK --interval=30s --timeout=5s --start-period=20s --retries=3 \
    CMD ["python", "-c", "import os, urllib.request as r; r.urlopen('http://127.0.0.1:' + os.environ['PORT'] + '/healthz', timeout=4).read()"]
CMD ["vitals", "serve"]
