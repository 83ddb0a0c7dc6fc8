import type { PageParameters } from "../routes.tsx";
import { Page } from "../ui/page.tsx";

export const Recordings = (_: { readonly at: PageParameters }) => <Page title="Recordings" />;
