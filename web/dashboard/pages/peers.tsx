import type { PageParameters } from "../routes.tsx";
import { Page } from "../ui/page.tsx";

export const Peers = (_: { readonly at: PageParameters }) => <Page title="Peers" />;
