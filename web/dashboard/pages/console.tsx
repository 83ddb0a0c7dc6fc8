import type { PageParameters } from "../routes.tsx";
import { Page } from "../ui/page.tsx";

export const Console = (_: { readonly at: PageParameters }) => <Page title="Console" />;
