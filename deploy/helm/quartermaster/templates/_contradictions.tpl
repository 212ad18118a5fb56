{{/* Refuses values that contradict each other. */}}
{{- define "quartermaster.refuse" -}}
{{- include "quartermaster.refuse.bot" . -}}
{{- include "quartermaster.refuse.namespaces" . -}}
{{- include "quartermaster.refuse.http" . -}}
{{- if and .Values.secret.external.enabled (not (and .Values.secret.external.store.name .Values.secret.external.keys)) -}}
{{- fail "secret.external needs store.name and keys, for example keys: {slack_bot_token: {key: quartermaster, property: slack_bot_token}}." -}}
{{- end -}}
{{- if and (not .Values.serviceAccount.create) (not .Values.serviceAccount.name) -}}
{{- fail "serviceAccount.create: false needs serviceAccount.name: the service account that is there." -}}
{{- end -}}
{{- end }}

{{- define "quartermaster.refuse.bot" -}}
{{- $replicas := include "quartermaster.replicas" . | int -}}
{{- if and (eq .Values.database.type "sqlite") (gt $replicas 1) -}}
{{- fail (printf "SQLite serves one bot, and replicas is %d. Set replicas: 1 or database.type: postgresql." $replicas) -}}
{{- end -}}
{{- if and (eq .Values.database.type "postgresql") .Values.database.volume.existingClaim -}}
{{- fail "database.volume.existingClaim is for SQLite. Leave it out or set database.type: sqlite." -}}
{{- end -}}
{{- end }}

{{- define "quartermaster.refuse.namespaces" -}}
{{- $named := default dict .Values.config.clusters -}}
{{- if and (ne .Values.cluster "default") (not (hasKey $named .Values.cluster)) -}}
{{- fail (printf "cluster is %s, which config.clusters does not have. Name the cluster in which you install the chart." .Values.cluster) -}}
{{- end -}}
{{- $datasets := include "quartermaster.datasets" . -}}
{{- $spaces := include "quartermaster.namespaces" . | fromYamlArray -}}
{{- if not $spaces -}}
{{- fail (printf "No team in config.teams uses the cluster %s. Set cluster to the name of this cluster in config.clusters." .Values.cluster) -}}
{{- end -}}
{{- if has .Release.Namespace (append $spaces $datasets) -}}
{{- fail (printf "%s is the bot's namespace: whoever can create pods there can read its tokens. Give teams and datasets other namespaces, or install the chart in another one." .Release.Namespace) -}}
{{- end -}}
{{- if and (include "quartermaster.creates-teams" .) (not .Values.confinement) -}}
{{- fail "config.team_creation needs confinement: true: without its policies, the bot's token could delete any namespace." -}}
{{- end -}}
{{- if and .Values.createDatasetsNamespace (not $datasets) -}}
{{- fail "createDatasetsNamespace needs config.datasets with this cluster." -}}
{{- end -}}
{{- end }}

{{- define "quartermaster.refuse.http" -}}
{{- $http := .Values.http -}}
{{- if and (or $http.ingress.enabled $http.route.enabled) (ne (include "quartermaster.transport" .) "http") -}}
{{- fail "Slack sends requests only with config.slack.transport: http. Set it, or switch off http.ingress and http.route." -}}
{{- end -}}
{{- if and $http.ingress.enabled (not $http.ingress.host) -}}
{{- fail "http.ingress needs a host, for example host: quartermaster.example.com." -}}
{{- end -}}
{{- if and $http.route.enabled (not (and $http.route.hostnames $http.route.parentRefs)) -}}
{{- fail "http.route needs hostnames and parentRefs, for example parentRefs: [{name: public, namespace: gateways}]." -}}
{{- end -}}
{{- end }}
