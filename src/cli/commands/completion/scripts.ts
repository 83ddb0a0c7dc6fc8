/**
 * `parley completion`: what a shell needs to complete command lines. The scripts only ask `parley complete`, which knows the commands and
 * flags of the version that is installed, so that they need not be made anew after an upgrade.
 */
import { basename } from "node:path";
import { asCalled } from "../../../config/program.ts";
import type { CommandResult } from "../../line/command.ts";
import { UsageError } from "../../line/errors.ts";
import type { Input } from "../../line/input.ts";
import { SHELLS } from "../../line/shells.ts";

/** `parley complete` prints what the shell should add ("files", "folders" or "none"), then a line per word: the word, a tab, its meaning. */
const SCRIPTS: Readonly<Record<(typeof SHELLS)[number], string>> = {
  bash: `# Parley's completion for bash. In ~/.bashrc: source <(parley completion bash)
_parley() {
  local program=\${COMP_WORDS[0]/#\\~/$HOME} current=\${COMP_WORDS[COMP_CWORD]} adds='' line
  COMPREPLY=()
  while IFS= read -r line; do
    if [ -z "$adds" ]; then adds=$line; else COMPREPLY+=("\${line%%$'\\t'*}"); fi
  done < <("$program" complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
  [ "$current" != = ] || current=''
  case $adds in
    files) local flag=-f ;;
    folders) local flag=-d ;;
    *) return ;;
  esac
  compopt -o filenames 2>/dev/null
  while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen "$flag" -- "$current")
}
complete -F _parley parley
`,
  zsh: `#compdef parley
# Parley's completion for zsh. In ~/.zshrc, after compinit: source <(parley completion zsh)
_parley() {
  local -a lines entries
  local line tab=$'\\t'
  lines=("\${(@f)$("\${words[1]/#\\~/$HOME}" complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  case $lines[1] in
    files) _files; return ;;
    folders) _files -/; return ;;
  esac
  for line in "\${(@)lines[2,-1]}"; do
    entries+=("\${\${line%%$tab*}//:/\\\\:}:\${line#*$tab}")
  done
  _describe parley entries
}
if [ "$funcstack[1]" = _parley ]; then _parley; else compdef _parley parley; fi
`,
  fish: `# Parley's completion for fish. Put its command into ~/.config/fish/config.fish (parley completion fish | source)
function __parley_complete
  set -l words (commandline -opc) (commandline -ct)
  set -l program (string replace -r '^~' $HOME -- $words[1])
  set -l lines ($program complete -- $words[2..-1] 2>/dev/null)
  switch $lines[1]
    case files
      __fish_complete_path (commandline -ct)
    case folders
      __fish_complete_directories (commandline -ct)
    case '*'
      printf '%s\\n' $lines[2..-1]
  end
end
complete -c parley -f -a '(__parley_complete)'
`,
};

export async function completion({ operands, env }: Input): Promise<CommandResult> {
  const named = operands[0] ?? basename(env.SHELL ?? "");
  const shell = SHELLS.find((one) => one === named);
  if (!shell)
    throw new UsageError(
      `${named === "" ? "SHELL is not set" : `there is no completion for ${JSON.stringify(named)}`}: name one of ${SHELLS.join(", ")}`,
    );
  const script = asCalled(SCRIPTS[shell]);
  return { value: { shell, script }, text: script };
}
