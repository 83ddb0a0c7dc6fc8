import type { PageParameters } from "../routes.tsx";
import { Page } from "../ui/page.tsx";

export const Audit = (_: { readonly at: PageParameters }) => <Page title="Audit" />;
