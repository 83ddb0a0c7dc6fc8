/** Which addresses webhooks may have, as this node's settings say: its own are never among them. */
import type { Config } from "../../config/settings.ts";
import { checkUrl, type GuardRules } from "../../net/guard.ts";
import type { AddressCheck } from "../../webhooks/endpoints/checks.ts";

type GuardSettings = Pick<Config, "webhookAllow" | "publicUrl" | "domain" | "port" | "adminListen">;

export function webhookRules({ webhookAllow, publicUrl, domain, port, adminListen }: GuardSettings): GuardRules {
  const adminPort = Number(adminListen.slice(adminListen.lastIndexOf(":") + 1));
  return {
    allow: webhookAllow,
    ownHosts: [...new Set([domain, `.${domain}`, ...publicUrl.map((url) => new URL(url).hostname)])],
    ownPorts: adminPort > 0 ? [port, adminPort] : [port],
  };
}

const HOW_TO_OPEN = "PARLEY_WEBHOOK_ALLOW opens addresses inside your network to webhooks of the control plane";

export const addressCheckOf =
  (rules: GuardRules): AddressCheck =>
  (url, kind) => {
    const isTrusted = kind === "control";
    const checked = checkUrl(url.href, rules, isTrusted);
    if (!("refused" in checked)) return undefined;
    return `${checked.refused}${isTrusted ? `; ${HOW_TO_OPEN}` : ""}`;
  };
