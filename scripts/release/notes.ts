/** The release notes: the section of CHANGELOG.md, and how to install and verify. */
import type { Release } from "./facts.ts";

export interface Section {
  readonly isDated: boolean;
  readonly text: string;
}

/** "## 0.2.0 (2026-12-01)" up to the next heading of its level. */
export function sectionOf(changelog: string, version: string): Section {
  const parts = changelog.split(/^(?=## )/m);
  const found = parts.find((part) => part.startsWith(`## ${version} `) || part.startsWith(`## ${version}\n`));
  if (found === undefined)
    throw new Error(`CHANGELOG.md has no section "## ${version}": write what has changed, and name the version there`);
  const [heading = "", ...lines] = found.split("\n");
  return { isDated: /\(\d{4}-\d{2}-\d{2}\)$/.test(heading), text: lines.join("\n").trim() };
}

/** Links to files of the repository lead nowhere on the page of a release: they get its address, or become plain text without one. */
const linked = (text: string, base: string): string =>
  text.replace(/\[([^\]]+)\]\((?!https?:)([^)]+)\)/g, (_, shown: string, path: string) =>
    base === "" ? shown : `[${shown}](${base}/${path})`,
  );

export function notesOf({ version, commit, repository }: Release, { text }: Section): string {
  const base = repository === "" ? "" : `${repository}/blob/${commit}`;
  return `# Parley ${version}

| to install | use |
|---|---|
| one file, on Linux and macOS | \`sh install.sh\`, which finds the right archive and verifies it |
| with npm | \`npx parley-server@${version} up\` |
| a Debian package | \`apt-get install ./parley_${version}_amd64.deb\` |
| on Kubernetes | \`helm install parley parley-helm-${version}.tgz\` |
| an image | \`docker build -t parley:${version} .\` in a folder with \`Dockerfile\`, \`parley-linux-x64.tar.gz\` and \`parley-linux-arm64.tar.gz\` |
| the client | \`npm install parley-client@${version}\` |

Verify what you download with \`sha256sum --check --ignore-missing SHA256SUMS\`. \`parley-${version}.cdx.json\` lists the components (CycloneDX),
\`LICENCES.txt\` their licences. Built from commit ${commit}.

${linked(text, base)}
`;
}
