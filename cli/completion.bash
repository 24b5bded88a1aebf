# Completes the commands and options of weft. What there is comes from the program's own help.
_weft() {
  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
  if [ "$COMP_CWORD" = 1 ]; then
    mapfile -t COMPREPLY < <(compgen -W "$(weft --help 2>/dev/null | sed -nE '/^(SUBCOMMANDS|Subcommands):/,$s/^  ([a-z][a-z-]*) .*/\1/p') --help" -- "$current")
    return
  fi
  case $previous in
    --flash-attention) mapfile -t COMPREPLY < <(compgen -W "on off auto" -- "$current") && return ;;
    --cache-type) mapfile -t COMPREPLY < <(compgen -W "f32 f16 bf16 q8_0 q5_1 q5_0 q4_1 q4_0 iq4_nl" -- "$current") && return ;;
  esac
  case $current in
    -*)
      mapfile -t COMPREPLY < <(compgen -W "$(weft "${COMP_WORDS[1]}" --help 2>/dev/null | grep -oE -- '(^|[ ,])--?[a-z][a-z0-9-]*' | tr -d ' ,')" -- "$current")
      ;;
    *) compopt -o default ;;
  esac
}
complete -F _weft weft
