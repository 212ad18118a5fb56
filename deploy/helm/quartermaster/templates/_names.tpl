{{- define "quartermaster.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end }}

{{- define "quartermaster.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 50 | trimSuffix "-" -}}
{{- else -}}
{{- $name := include "quartermaster.name" . -}}
{{- ternary .Release.Name (printf "%s-%s" .Release.Name $name) (contains $name .Release.Name) | trunc 50 | trimSuffix "-" -}}
{{- end -}}
{{- end }}

{{- define "quartermaster.selector" -}}
{app.kubernetes.io/name: {{ include "quartermaster.name" . }}, app.kubernetes.io/instance: {{ .Release.Name }}}
{{- end }}

{{- define "quartermaster.account" -}}
{{- default (include "quartermaster.fullname" .) .Values.serviceAccount.name -}}
{{- end }}

{{- define "quartermaster.subjects" -}}
subjects:
  - kind: ServiceAccount
    name: {{ include "quartermaster.account" . }}
    namespace: {{ .Release.Namespace }}
{{- range .Values.subjects }}
  - kind: {{ .kind }}
    name: {{ .name | quote }}
    apiGroup: rbac.authorization.k8s.io
{{- end }}
{{- end }}

{{- define "quartermaster.isTheBot" -}}
request.userInfo.username == 'system:serviceaccount:{{ .Release.Namespace }}:{{ include "quartermaster.account" . }}'
{{- range .Values.subjects }} || {{ if eq .kind "Group" }}'{{ .name }}' in request.userInfo.groups{{ else }}request.userInfo.username == '{{ .name }}'{{ end }}{{ end }}
{{- end }}

{{- define "quartermaster.image" -}}
{{- with .Values.image -}}
{{- .repository -}}
{{- if or .tag (not .digest) }}:{{ default $.Chart.AppVersion .tag }}{{ end -}}
{{- with .digest }}@{{ . }}{{ end -}}
{{- end -}}
{{- end }}
