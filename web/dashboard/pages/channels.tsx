import type { PageParameters } from "../routes.tsx";
import { Page } from "../ui/page.tsx";

export const Channels = (_: { readonly at: PageParameters }) => <Page title="Channels" />;
