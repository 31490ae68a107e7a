{{- /* What pods are selected by. On reserved nodes the component is another one: deploy/kubernetes/repro. */}}
{{- define "necroscope.selector" -}}
app.kubernetes.io/name: necroscope
app.kubernetes.io/component: recorder
{{- end }}

{{- define "necroscope.labels" -}}
{{ include "necroscope.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: necroscope-{{ .Chart.Version }}
{{- with .Values.labels }}
{{ toYaml . }}
{{- end }}
{{- end }}
