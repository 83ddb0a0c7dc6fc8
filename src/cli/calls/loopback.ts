/** Addresses that lead to this machine, whatever the network is. */
const LOOPBACK = /^(localhost|127(\.\d+){3}|\[::1\])$/;

/** Also the host of an application, such as demo.localhost. */
export const isThisMachine = (url: string): boolean => isLoopback(url) || new URL(url).hostname.endsWith(".localhost");

/** Without names that a resolver may lead elsewhere. */
export const isLoopback = (url: string): boolean => LOOPBACK.test(new URL(url).hostname);
