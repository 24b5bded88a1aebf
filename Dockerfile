# The build environment as a container, for machines where ./weft cannot make its own:
#   docker build -t weft . && docker run --rm -it -v "$PWD:/weft" -w /weft weft ./weft test
# With a GPU add --device /dev/dri (Mesa) or --gpus all -e NVIDIA_DRIVER_CAPABILITIES=all (NVIDIA).
FROM debian:forky
COPY env/packages.txt /tmp/packages.txt
RUN apt-get -o Acquire::Check-Valid-Until=false update \
 && sed 's/#.*//' /tmp/packages.txt | DEBIAN_FRONTEND=noninteractive xargs apt-get install -y --no-install-recommends \
 && rm -rf /var/lib/apt/lists/* /tmp/packages.txt \
 && touch /etc/dpkg/dpkg.cfg.d/weft
# With that mark, commands may install more packages when a part of the project is first used (env/common.sh).
# All packages are there, so ./weft uses the container itself. Checkouts may belong to another user.
RUN git config --system --add safe.directory '*'
CMD ["bash"]
