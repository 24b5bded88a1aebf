# Sourced by env/enter and by the launcher of a bundle (POSIX sh). Machines made for CUDA carry NVIDIA's driver, which
# is a Vulkan driver too (libEGL_nvidia), but no file that tells the Vulkan loader so: this writes one.
# Afterwards $driver_path holds the folder to search for the driver's libraries (empty where none is needed).

driver_path=
if [ -z "${VK_DRIVER_FILES-}${VK_ICD_FILENAMES-}" ]; then
  icd_files=$(ls /etc/vulkan/icd.d/*.json /usr/share/vulkan/icd.d/*.json /usr/local/share/vulkan/icd.d/*.json \
    /usr/local/etc/vulkan/icd.d/*.json 2>/dev/null || true)
  nvidia_library=
  # shellcheck disable=SC2086
  if [ -z "$icd_files" ] || ! grep -q nvidia $icd_files; then
    for nvidia_library in /usr/local/nvidia/lib64 /usr/lib/x86_64-linux-gnu /usr/lib64 /usr/lib ''; do
      nvidia_library=$nvidia_library/libEGL_nvidia.so.0
      [ ! -e "$nvidia_library" ] || break
    done
    [ -e "$nvidia_library" ] ||
      nvidia_library=$(PATH=$PATH:/sbin:/usr/sbin ldconfig -p 2>/dev/null | sed -n 's|.*x86-64.* => \(/.*/libEGL_nvidia\.so\.0\)$|\1|p' | head -n 1)
  fi
  if [ -e "$nvidia_library" ]; then
    driver_path=${nvidia_library%/*}
    icd_folder=${XDG_CACHE_HOME:-${HOME:-/nonexistent}/.cache}/weft
    mkdir -p "$icd_folder" 2>/dev/null && [ -w "$icd_folder" ] || icd_folder=$(mktemp -d)
    icd_file=$icd_folder/icd$(printf %s "$nvidia_library" | tr / -).json
    # Written aside and renamed, because another process may be reading it.
    printf '{"file_format_version": "1.0.1", "ICD": {"library_path": "%s", "api_version": "1.4.312"}}\n' \
      "$nvidia_library" >"$icd_file.$$" && mv "$icd_file.$$" "$icd_file"
    if [ -n "$icd_files" ]; then
      export VK_ADD_DRIVER_FILES="$icd_file${VK_ADD_DRIVER_FILES:+:$VK_ADD_DRIVER_FILES}"
    else
      export VK_DRIVER_FILES="$icd_file" VK_ICD_FILENAMES="$icd_file"
    fi
  fi
fi
