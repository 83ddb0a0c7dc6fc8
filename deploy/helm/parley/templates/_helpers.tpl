{{/* The name of every object: the release's, so that a cluster can have several. */}}
{{- define "parley.name" -}}
{{- if contains "parley" .Release.Name }}{{ .Release.Name | trunc 56 | trimSuffix "-" }}{{ else }}{{ printf "%s-parley" .Release.Name | trunc 56 | trimSuffix "-" }}{{ end }}
{{- end }}

{{- define "parley.selector" -}}
app.kubernetes.io/name: parley
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: node
{{- end }}

{{- define "parley.labels" -}}
{{ include "parley.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end }}

{{- define "parley.settings" -}}
# Reachable by the ingress controller and the probes, which come from other pods.
PARLEY_HOST: 0.0.0.0
PARLEY_DOMAIN: {{ .Values.domain }}
# The service's addresses: the public one, and the one inside the cluster for dashboard, control plane and metrics.
PARLEY_PUBLIC_URL: https://{{ .Values.domain }},http://{{ include "parley.name" . }}-admin:9090
# Has no Ingress: dashboard, control plane and metrics stay inside the cluster.
PARLEY_ADMIN_LISTEN: 0.0.0.0:9090
PARLEY_TRUSTED_PROXIES: {{ .Values.trustedProxies | quote }}
PARLEY_DRAIN_SECONDS: {{ .Values.drainSeconds | quote }}
# No demo application with keys in clear; create applications with `parley apps create`.
PARLEY_DEMO: "off"
{{- end }}
