/** Applications live at `<app>.<domain>`: which one a Host header names. */

/** The one label under the domain, or undefined if the host is not an application's. */
export function appLabel(host: string | null, domain: string): string | undefined {
  const bare = (host ?? "").toLowerCase().replace(/:\d+$/, "").replace(/\.$/, "");
  if (!bare.endsWith(`.${domain}`)) return undefined;
  const label = bare.slice(0, -domain.length - 1);
  return label !== "" && !label.includes(".") ? label : undefined;
}
